/** What is wrong with the app, or with how it was started: said to the operator. */
export class AppError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AppError";
  }
}
