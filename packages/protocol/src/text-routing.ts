/**
 * Text routing: which pending interaction a typed text answers, and with what. `decide` uses it for the gateway; the composer
 * and the connectors use the same order to show beforehand where a text will go.
 *
 * A text goes to the first kind of `TEXT_KINDS` that has a pending interaction which takes texts, and there to the oldest.
 * An approval or a plan review can be denied or sent back by a text, but never approved: what is approved is shown beside a
 * button, and a "yes" may have been meant for something else.
 */
import { AskbackError, type ErrorCode } from './errors.js'
import { formRequest, singleTextField } from './form.js'
import type { Interaction } from './interaction.js'
import type { Json } from './json.js'
import { checkReply, questionRequest, readTextReply, repliesIn } from './question.js'

/** The kinds that can be answered with a text, in the order in which a text that names no interaction is routed. */
export const TEXT_KINDS = ['approval', 'plan_review', 'question', 'form'] as const

/** Where a text goes. */
export type TextRoute =
  | { to: 'answer'; interactionId: string; answer: Json }
  /** More questions follow; these are the replies so far, for `interaction_progress`. */
  | { to: 'progress'; interactionId: string; answers: Json[] }
  /** Nothing pending takes a text: it is a message for the agent. */
  | { to: 'nobody' }

/** A text, and what its sender said about where it goes. */
export interface TextToRoute {
  /** Oldest first. */
  pending: readonly Interaction[]
  text: string
  /** The interaction that is meant, if the surface knows. */
  interactionId?: string | undefined
  /** The question that is meant, counted from 0. */
  questionIndex?: number | undefined
}

/**
 * Decides what a typed text does. Throws if the text must neither settle anything nor reach the agent: `invalid_request` if
 * it is blank or for a later question, `needs_decision` if it is a bare yes to an approval or a plan, `not_found`,
 * `nothing_pending` or `already_settled` if what it names cannot take it, and `invalid_answer` if it does not fit.
 *
 * @example
 * routeText({ pending: [approval], text: 'use npm instead' })
 * // { to: 'answer', interactionId, answer: { decision: 'deny', message: 'use npm instead' } }
 */
export function routeText({ pending, text, interactionId, questionIndex }: TextToRoute): TextRoute {
  if (text.trim() === '') refuse('invalid_request', 'The text is empty.')
  if (interactionId !== undefined) {
    const named = pending.find((item) => item.interactionId === interactionId)
    if (!named) return refuse('not_found', `No interaction ${JSON.stringify(interactionId)} is pending here.`)
    return (
      answerWith(named, text, questionIndex) ?? refuse('nothing_pending', `This ${named.kind} takes no text.`)
    )
  }
  // A caller that names a question means a question: its text must not deny an approval that is pending beside it.
  for (const kind of questionIndex === undefined ? TEXT_KINDS : (['question'] as const)) {
    for (const item of pending) {
      const route = item.kind === kind ? answerWith(item, text, questionIndex) : null
      if (route) return route
    }
  }
  return questionIndex === undefined ? { to: 'nobody' } : refuse('nothing_pending', 'No question is pending.')
}

/**
 * The pending interactions that take a text, in the order of routing: the first one gets a text that names no interaction.
 *
 * @param pending - oldest first
 */
export function textTakers(pending: readonly Interaction[]): Interaction[] {
  return TEXT_KINDS.flatMap((kind) => pending.filter((item) => item.kind === kind && takesText(item)))
}

/** Whether a text can answer this interaction. A form takes one if it has a single field and that is a text. */
function takesText({ kind, request }: Interaction): boolean {
  switch (kind) {
    case 'approval':
    case 'plan_review':
      return true
    case 'question':
      return questionRequest.safeParse(request).success
    case 'form': {
      const parsed = formRequest.safeParse(request)
      return parsed.success && singleTextField(parsed.data) !== null
    }
    default:
      return false
  }
}

/** What the text does to this interaction; `null` if it takes no text. */
function answerWith(item: Interaction, text: string, questionIndex: number | undefined): TextRoute | null {
  const { kind, interactionId } = item
  if (questionIndex !== undefined && kind !== 'question') {
    refuse('invalid_request', 'A `questionIndex` goes with a question only.')
  }
  switch (kind) {
    case 'approval':
      if (isBareYes(text))
        refuse('needs_decision', 'Replying here denies the request. To approve, press Approve.')
      return { to: 'answer', interactionId, answer: { decision: 'deny', message: text } }
    case 'plan_review':
      if (isBareYes(text))
        refuse(
          'needs_decision',
          'Replying here asks for changes to the plan. To approve it, use one of its buttons.',
        )
      return { to: 'answer', interactionId, answer: { decision: 'adjust', feedback: text } }
    case 'question':
      return answerQuestion(item, text, questionIndex)
    case 'form': {
      const field = singleTextField(formRequest.parse(item.request))
      return field && { to: 'answer', interactionId, answer: { values: { [field.name]: text } } }
    }
    default:
      return null
  }
}

/** Answers the first question that has no reply yet. */
function answerQuestion(item: Interaction, text: string, questionIndex: number | undefined): TextRoute {
  const { interactionId } = item
  const request = questionRequest.parse(item.request)
  const progress = repliesIn(item.progress)
  const current = Math.min(progress.length, request.questions.length)
  if (questionIndex !== undefined && questionIndex < current) {
    refuse(
      'already_settled',
      `Question ${questionIndex + 1} has been answered; question ${current + 1} is next.`,
    )
  }
  if (questionIndex !== undefined && questionIndex !== current) {
    refuse(
      'invalid_request',
      `Question ${questionIndex + 1} is not asked yet; question ${current + 1} is next.`,
    )
  }
  const reply = readTextReply(request.questions[current]!, text)
  const answers = [...progress, reply].map((each, index) => checkReply(request, index, each))
  return answers.length < request.questions.length
    ? { to: 'progress', interactionId, answers }
    : { to: 'answer', interactionId, answer: { answers } }
}

/** Whether a text says no more than yes. Such a text is neither a reason for a denial nor feedback on a plan. */
export function isBareYes(text: string): boolean {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    // The variation selector that makes a symbol an emoji, and apostrophes.
    .replace(/\u{FE0F}|[’']/gu, '')
    .replace(/[✓✔☑]/gu, ' ok ')
    .replace(/\p{Extended_Pictographic}/gu, ' $& ')
    .split(/[^\p{L}\p{M}\p{N}\p{Extended_Pictographic}]+/u)
    .filter((word) => word !== '')
  if (YES_PHRASES.has(words.join(' '))) return true
  return (
    words.some((word) => YES_WORDS.has(word)) &&
    words.every((word) => YES_WORDS.has(word) || FILLER_WORDS.has(word))
  )
}

// The lists are marked as pure, so that a surface that only imports `textTakers` does not bundle them.

/** Phrases that mean yes although none of their words does. */
const YES_PHRASES: ReadonlySet<string> = /* @__PURE__ */ new Set([
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

const YES_WORDS = /* @__PURE__ */ wordSet(
  `1 y ye yes yea yeah yeap yep yepp yup ya yah aye ok okay okey okie k kk sure fine good great perfect right correct true
  approve approved approves approving accept accepted allow allowed always permit permitted grant granted confirm confirmed agree
  agreed authorize authorized go proceed continue run do lgtm absolutely definitely certainly affirmative indeed alright alrighty sgtm roger once session
  si sí oui ja jep jo jap klar gerne sim da tak ano igen evet kyllä joo ναι да ага ок хорошо так hai ya iya vâng có
  はい うん いいよ 承認 是 是的 好 好的 可以 同意 批准 行 네 예 응 좋아 승인 हाँ हां نعم כן ใช่
  dale vale claro aprobar aprobado aceptar genehmigt genehmigen erlauben einverstanden approuver approuvé accord dac daccord aprovar
  👍 👌 ✅ 🆗 💯`,
)

/** Words that add nothing to a yes. */
const FILLER_WORDS = /* @__PURE__ */ wordSet(
  `please pls plz thanks thank thx you it this that ahead for on just now then all is looks sounds to me im i the of course by with sir maam
  bitte danke por favor merci sil te vous plait plaît 🙏`,
)

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/))
}

function refuse(code: ErrorCode, message: string): never {
  throw new AskbackError(code, message)
}
