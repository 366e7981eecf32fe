/** The user for whom pages are read and requests are made. */
export interface AppUser {
  sub?: string;
  roles: readonly string[];
}
