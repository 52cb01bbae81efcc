let putOff: (() => void)[] | null = null

/**
 * Writes now, or, if something was written in this turn of the event loop, at its end. A write wakes a peer that sleeps, which
 * takes as long as all else that an answer costs; of writes that follow one another only the first does.
 */
export function writeInTurn(write: () => void): void {
  if (putOff) {
    putOff.push(write)
    return
  }
  putOff = []
  setImmediate(writeAll)
  write()
}

function writeAll(): void {
  const writes = putOff ?? []
  putOff = null
  for (const write of writes) write()
}
