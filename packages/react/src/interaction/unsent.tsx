import { Check, Copy } from 'lucide-react'
import { ShownText } from '../content/shown-text.js'
import { useCopy } from '../content/use-copy.js'

/** What somebody typed on a card that was settled before they sent it. */
export function Unsent({ text }: { text: string }) {
  const { hasCopied, copy } = useCopy(text)
  return (
    <p className="ab-unsent">
      <span className="ab-summary-text">
        <span className="ab-quiet">Not sent: </span>
        <bdi>
          <ShownText text={text} />
        </bdi>
      </span>
      <button type="button" className="ab-button" data-tone="quiet" data-size="small" onClick={copy}>
        {hasCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
        {hasCopied ? 'Copied' : 'Copy'}
      </button>
    </p>
  )
}

/** Everything that is not blank, a line each. */
export function joinTexts(texts: readonly unknown[]): string {
  return texts.filter((text) => typeof text === 'string' && text.trim() !== '').join('\n')
}
