import { MemorySaver } from '@langchain/langgraph'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'

/** A checkpointer in one file: LangGraph's own, which is written after each change. The one for SQLite has native code to compile. */
export class FileSaver extends MemorySaver {
  readonly #file: string

  constructor(file: string) {
    super()
    this.#file = file
    if (!existsSync(file)) return
    const { storage, writes } = deserialize(readFileSync(file)) as Pick<MemorySaver, 'storage' | 'writes'>
    this.storage = storage
    this.writes = writes
  }

  override async put(...args: Parameters<MemorySaver['put']>) {
    const result = await super.put(...args)
    this.#save()
    return result
  }

  override async putWrites(...args: Parameters<MemorySaver['putWrites']>) {
    await super.putWrites(...args)
    this.#save()
  }

  #save(): void {
    writeFileSync(`${this.#file}.new`, serialize({ storage: this.storage, writes: this.writes }))
    renameSync(`${this.#file}.new`, this.#file)
  }
}
