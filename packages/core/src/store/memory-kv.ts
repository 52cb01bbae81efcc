import { copyJson, type Json } from '@askback/protocol'
import type { KvEntry, KvWrite } from './store.js'

/** Small records in a map. Versions come from outside and never repeat, so that a key made anew is not mistaken. */
export class MemoryKv {
  readonly #entries = new Map<string, { value: Json; version: number }>()
  readonly #nextVersion: () => number

  constructor(nextVersion: () => number) {
    this.#nextVersion = nextVersion
  }

  allows(writes: KvWrite[]): boolean {
    return !writes.some((write) => write.ifAbsent && this.#entries.has(write.key))
  }

  write(key: string, value: Json | null): void {
    if (value === null) this.#entries.delete(key)
    else this.#entries.set(key, { value: copyJson(value), version: this.#nextVersion() })
  }

  version(key: string): number | null {
    return this.#entries.get(key)?.version ?? null
  }

  get(key: string): KvEntry | null {
    const entry = this.#entries.get(key)
    return entry ? { key, value: copyJson(entry.value), version: entry.version } : null
  }

  list(prefix: string): KvEntry[] {
    const keys = [...this.#entries.keys()].filter((key) => key.startsWith(prefix))
    return keys.sort().map((key) => this.get(key)!)
  }

  erase(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key)
  }
}
