import { Messages } from "./Messages";
import { Questions } from "./Questions";

export function App() {
  return (
    <>
      <h1>An app with rate limits</h1>
      <Messages />
      <Questions />
    </>
  );
}
