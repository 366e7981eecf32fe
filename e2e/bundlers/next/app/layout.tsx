import type { ReactNode } from "react";
import { AiProvider } from "./ai-provider";

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <AiProvider>{children}</AiProvider>
      </body>
    </html>
  );
}
