/**
 * Whether a text says no more than yes. Such a text is no reason for a denial and no feedback on a plan, and it must not approve either: what is
 * approved is shown beside a control, and a "yes" may have been meant for something else.
 */
export function isBareYes(text: string): boolean {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\u{FE0F}|[’']/gu, '')
    .replace(/[✓✔☑]/gu, ' ok ')
    .replace(/\p{Extended_Pictographic}/gu, ' $& ')
    .split(/[^\p{L}\p{M}\p{N}\p{Extended_Pictographic}]+/u)
    .filter((word) => word !== '')
  if (phrases.has(words.join(' '))) return true
  return words.some((word) => yes.has(word)) && words.every((word) => yes.has(word) || fillers.has(word))
}

/** A yes of words that are none. */
const phrases: ReadonlySet<string> = new Set([
  'of course',
  'ship it',
  'thumbs up',
  'why not',
  'makes sense',
  'no problem',
  'no worries',
  'no objection',
  'no objections',
])

const yes: ReadonlySet<string> = new Set(
  `1 y ye yes yea yeah yeap yep yepp yup ya yah aye ok okay okey okie k kk sure fine good great perfect right correct true
  approve approved approves approving accept accepted allow allowed always permit permitted grant granted confirm confirmed agree
  agreed authorize authorized go proceed continue run do lgtm absolutely definitely certainly affirmative indeed alright alrighty sgtm roger once session
  si sí oui ja jep jo jap klar gerne sim da tak ano igen evet kyllä joo ναι да ага ок хорошо так hai ya iya vâng có
  はい うん いいよ 承認 是 是的 好 好的 可以 同意 批准 行 네 예 응 좋아 승인 हाँ हां نعم כן ใช่
  dale vale claro aprobar aprobado aceptar genehmigt genehmigen erlauben einverstanden approuver approuvé accord dac daccord aprovar
  👍 👌 ✅ 🆗 💯`.split(/\s+/),
)

/** Words that add nothing to a yes. */
const fillers: ReadonlySet<string> = new Set(
  `please pls plz thanks thank thx you it this that ahead for on just now then all is looks sounds to me im i the of course by with sir maam
  bitte danke por favor merci sil te vous plait plaît 🙏`.split(/\s+/),
)
