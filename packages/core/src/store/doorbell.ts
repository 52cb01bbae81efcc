export interface Doorbell<Ring> {
  ring(ring: Ring): void
  on(listener: (ring: Ring) => void): () => void
}

export function doorbell<Ring>(): Doorbell<Ring> {
  const listeners = new Set<{ listener: (ring: Ring) => void }>()
  return {
    ring(ring) {
      for (const { listener } of listeners) {
        try {
          listener(ring)
        } catch (error) {
          // What is committed stays so: the listener's fault surfaces as its own, and the others still hear.
          void Promise.reject(error)
        }
      }
    },
    on(listener) {
      const entry = { listener }
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },
  }
}
