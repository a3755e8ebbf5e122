import { useMutation, useQuery } from "convex/react";
import { useCountdown, useRateLimit } from "convex-rate-limits/react";
import { api } from "../convex/_generated/api";
import { Line } from "./Line";

const { getRateLimit, getServerTime, latest, send } = api.messages;

export function Messages() {
  const messages = useQuery(latest) ?? [];
  const sendMessage = useMutation(send);
  // By the server's clock, so a wrong clock of the browser does not matter.
  const { status } = useRateLimit(getRateLimit, { getServerTime });
  const seconds = useCountdown(status?.retryAt);
  return (
    <section aria-label="Messages">
      <h2>Messages</h2>
      <Line
        label="A message"
        button={status && !status.ok ? (status.reason ?? `Again in ${seconds ?? "…"} s`) : "Send"}
        isEnabled={status?.ok ?? false}
        onSubmit={(body) => sendMessage({ body })}
      />
      <ul>
        {messages.map(({ body }, i) => (
          <li key={messages.length - i}>{body}</li>
        ))}
      </ul>
    </section>
  );
}
