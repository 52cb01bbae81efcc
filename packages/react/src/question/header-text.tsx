import { spellOut } from '@askback/protocol'
import { ShownText } from '../content/shown-text.js'

const MAX_CHARACTERS = 12

/** The header of a question, cut where it is long; whole for a screen reader and under the pointer. */
export function HeaderText({ text }: { text: string }) {
  const characters = Array.from(text)
  if (characters.length <= MAX_CHARACTERS) return <ShownText text={text} />
  return (
    <span title={spellOut(text, 'prose')}>
      <span aria-hidden>
        <ShownText text={`${characters.slice(0, MAX_CHARACTERS).join('').trimEnd()}…`} />
      </span>
      <span className="ab-only-spoken">
        <ShownText text={text} />
      </span>
    </span>
  )
}
