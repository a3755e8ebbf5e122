import { useServerNow } from "convex-rate-limits/react";
import { useMutation } from "convex/react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, useLog } from "../stage/Log.js";
import { type LimitQuery, useLimit } from "../stage/useLimit.js";
import { per, problem, wait } from "../words.js";

const LAYERS = ["user", "team", "everyone"] as const;

export function Several() {
  const upload = useMutation(api.stage.several.upload);
  const now = useServerNow();
  const { entries, say } = useLog();
  const send = (user: string) =>
    upload({ room, user }).then(
      ({ ok, retryAt, statuses }) => {
        if (ok) {
          const left = statuses.map(({ remaining }) => remaining).join(", ");
          say("go", "uploaded", `${user} · ${left} left for user, team, everyone`);
          return;
        }
        const short = LAYERS.filter((_, layer) => !statuses[layer]?.ok).join(" and ");
        say("stop", "denied", `${user} · by ${short}: none was charged, again in ${wait(retryAt - now())}`);
      },
      (error: unknown) => {
        say("stop", "refused", problem(error, now()));
      },
    );
  const ada = [1100, () => send("Ada")] as const;
  const ben = [1100, () => send("Ben")] as const;
  useAutoplay([ada, ada, ada, ada, ben, ben, ben, [5000, () => undefined]]);
  return (
    <div className="flex flex-col gap-4">
      <Lead tryThis="upload as Ada until it is denied, then as Ben.">
        An upload takes a token from each of three limits in one call, or from none if one of them denies.
      </Lead>
      <div className="flex flex-wrap gap-2">
        <CallButton look="primary" onClick={() => send("Ada")}>
          Upload as Ada
        </CallButton>
        <CallButton onClick={() => send("Ben")}>Upload as Ben</CallButton>
      </div>
      <Gauge name="Ada" query={api.stage.several.user} bucket={`${room} Ada`} />
      <Gauge name="Ben" query={api.stage.several.user} bucket={`${room} Ben`} />
      <Gauge name="Their team" query={api.stage.several.team} bucket={room} />
      <Gauge name="Everyone" query={api.stage.several.everyone} bucket={room} />
      <Log entries={entries} lines={6} empty="No upload yet." />
    </div>
  );
}

function Gauge({ name, query, bucket }: { name: string; query: LimitQuery; bucket: string }) {
  const { snapshot, value, capacity } = useLimit(query, bucket, 120);
  const { rate = 0, period = 1000 } = snapshot?.config ?? {};
  const whole = Math.floor(value ?? 0);
  return (
    <div className="grid grid-cols-[6.2rem_minmax(0,1fr)] items-center gap-x-3">
      <p className="text-sm leading-tight">
        <span className="font-medium">{name}</span>
        <span className="block text-xs text-muted">
          {rate} {per(period)}
        </span>
      </p>
      <Cells value={value} capacity={capacity} label={`${name}: ${whole} of ${capacity} left`} className="h-9" />
    </div>
  );
}
