/** Reads what this store wrote, and therefore trusts: the caller states what it is. */
export function stored<T>(text: string): T {
  return JSON.parse(text) as T
}
