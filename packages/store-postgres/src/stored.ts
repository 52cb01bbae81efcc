/** Reads what this store wrote, and therefore trusts: the caller states what it is. */
export function stored<T>(json: string): T {
  return JSON.parse(json) as T
}
