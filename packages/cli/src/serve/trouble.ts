/** What fails in the background. It is kept until the start is through: one that fails is told in one sentence. */
export class Trouble {
  readonly #kept: unknown[] = []
  #tell: ((error: unknown) => void) | null = null

  readonly report = (error: unknown): void => {
    if (this.#tell) this.#tell(error)
    else this.#kept.push(error)
  }

  tell(tell: (error: unknown) => void): void {
    this.#tell = tell
    for (const error of this.#kept.splice(0)) tell(error)
  }
}
