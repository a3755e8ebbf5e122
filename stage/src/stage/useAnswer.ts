import { useState } from "react";
import type { Tone } from "../controls.js";
import { useConnectionCount } from "../useIsOnline.js";

interface Answer {
  tone: Tone;
  text: string;
}

/** The last answer, until the connection is lost: the embedded backend forgets everything when it stops, so its answers end too. */
export function useAnswer(): [answer: Answer | undefined, setAnswer: (answer: Answer) => void] {
  const connection = useConnectionCount();
  const [last, setLast] = useState<{ answer: Answer; connection: number }>();
  return [
    last?.connection === connection ? last.answer : undefined,
    (answer) => {
      setLast({ answer, connection });
    },
  ];
}
