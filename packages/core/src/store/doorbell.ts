/** Calls listeners. What rings carries ids only: a listener reads the store to learn what happened. */
export interface Doorbell<Ring> {
  ring(ring: Ring): void
  /** Returns a function that removes the listener. */
  on(listener: (ring: Ring) => void): () => void
}

export function doorbell<Ring>(): Doorbell<Ring> {
  // Wrapped, so that the same function can be registered twice and each registration be removed by itself.
  const registrations = new Set<{ listener: (ring: Ring) => void }>()
  return {
    ring(ring) {
      for (const { listener } of registrations) {
        try {
          listener(ring)
        } catch (error) {
          // The commit has happened, so a listener's error must not fail it, nor keep the others from being called: it
          // surfaces as an unhandled rejection.
          void Promise.reject(error)
        }
      }
    },
    on(listener) {
      const registration = { listener }
      registrations.add(registration)
      return () => void registrations.delete(registration)
    },
  }
}
