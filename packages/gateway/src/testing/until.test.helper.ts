/** Looks until there is something, giving others their turn in between. */
export async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look()
    await new Promise((resolve) => setImmediate(resolve))
    if (found) return found
  }
}
