export interface Chunk {
  text: string
  /** It goes on in the middle of a line. */
  isContinued: boolean
}

const LINES = 200
const CHARACTERS = 16_000

/** Pieces that a browser can lay out one at a time; together they are the text. */
export function chunksOf(text: string): Chunk[] {
  const chunks: Chunk[] = []
  let start = 0
  let isContinued = false
  while (start < text.length) {
    const end = endOfChunk(text, start)
    const endsLine = text[end - 1] === '\n'
    // The block itself breaks the line.
    chunks.push({ text: text.slice(start, endsLine && end < text.length ? end - 1 : end), isContinued })
    isContinued = !endsLine
    start = end
  }
  return chunks.length > 0 ? chunks : [{ text: '', isContinued: false }]
}

function endOfChunk(text: string, start: number): number {
  let end = start
  for (let lines = 0; lines < LINES && end < text.length; lines++) {
    const next = text.indexOf('\n', end)
    const lineEnd = next < 0 ? text.length : next + 1
    if (lineEnd - start > CHARACTERS) return end > start ? end : cutLine(text, start)
    end = lineEnd
  }
  return end
}

/** Not between the halves of a surrogate pair. */
function cutLine(text: string, start: number): number {
  const end = Math.min(start + CHARACTERS, text.length)
  const unit = text.charCodeAt(end - 1)
  return unit >= 0xd800 && unit < 0xdc00 && end < text.length ? end - 1 : end
}
