import { useRateLimit } from "@convex-dev/rate-limiter/react";
import { useMutation } from "convex/react";
import { api } from "../convex/_generated/api.js";

export function SendButton({ author }: { author: string }) {
  const send = useMutation(api.messages.send);
  const { status, check } = useRateLimit(api.messages.getRateLimit, {
    key: author,
    count: 2,
    getServerTimeMutation: api.messages.getServerTime,
  });
  return (
    <button disabled={!status?.ok} onClick={() => void send({ author, body: "Hello" })}>
      {status?.ok === false ? `Again at ${new Date(status.retryAt).toISOString()}` : `${check()?.value ?? "?"} left`}
    </button>
  );
}
