import { Heading } from "./heading";

export default function Page() {
  return <Heading />;
}
