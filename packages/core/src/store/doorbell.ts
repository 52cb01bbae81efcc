/** Calls listeners. What rings carries ids only: a listener reads the store to learn what happened. */
export interface Doorbell<Notice> {
  ring(notice: Notice): void
  /** Returns a function that removes the listener. */
  on(listener: (notice: Notice) => void): () => void
}

/** A list of listeners that are called with each notice. */
export function createDoorbell<Notice>(): Doorbell<Notice> {
  // Wrapped, so that the same function can be registered twice and each registration be removed by itself.
  const registrations = new Set<{ listener: (notice: Notice) => void }>()
  return {
    ring(notice) {
      for (const { listener } of registrations) {
        try {
          listener(notice)
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
