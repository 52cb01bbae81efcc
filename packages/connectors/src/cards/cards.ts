import { isDefaultAnswer, type ByKind, type Interaction, type Via } from '@askback/protocol'
import { approvalCard } from './approval.js'
import {
  oneLine,
  prose,
  type CardAction,
  type CardBody,
  type CardInput,
  type CardInteraction,
  type CardKind,
  type CardView,
} from './card.js'
import { customKindCard } from './custom-kind.js'
import { formCard } from './form.js'
import { planReviewCard } from './plan-review.js'
import { questionCard } from './question.js'

const CARD_KINDS: ByKind<CardKind> = {
  question: questionCard,
  approval: approvalCard,
  plan_review: planReviewCard,
  form: formCard,
}

function cardKindOf({ kind }: Interaction): CardKind {
  return (Object.hasOwn(CARD_KINDS, kind) ? CARD_KINDS[kind] : undefined) ?? customKindCard
}

export function stepOf(interaction: CardInteraction, view: CardView): number {
  return cardKindOf(interaction).stepOf(interaction, view)
}

export function bodyOf(interaction: CardInteraction, view: CardView): CardBody {
  return cardKindOf(interaction).bodyOf(interaction, view)
}

/** What a tap or a text does to an interaction that is pending. */
export function handleInput(interaction: CardInteraction, view: CardView, input: CardInput): CardAction {
  if ('text' in input && input.text.trim() === '') return { do: 'refuse', message: 'The text is empty.' }
  return cardKindOf(interaction).handleInput(interaction, view, input)
}

/** What was answered to one step, or to the whole interaction if no step is given. */
export function answerText(interaction: CardInteraction, view: CardView, step?: number): string {
  return cardKindOf(interaction).answerText(interaction, view, step)
}

/** How an interaction ended and who ended it. All surfaces use the same words. */
export function outcomeText(interaction: Interaction, view: CardView): string {
  const { settlement, message } = interaction
  switch (settlement) {
    case 'answered':
    case 'approved':
    case 'denied': {
      const answer = answerText(interaction, view)
      const detail = cardKindOf(interaction).settlementDetail?.(interaction) ?? ''
      const isAdjusted = interaction.kind === 'plan_review' && settlement === 'denied'
      const verb = isAdjusted ? 'Changes requested' : VERBS[settlement]
      return `${verb}${detail}${settledBy(interaction)}.${answer ? `\n${answer}` : ''}`
    }
    case 'cancelled':
      return `Cancelled${settledBy(interaction)}.${message ? ` ${prose(message)}` : ''}`
    case 'timed_out':
      return 'Timed out: nobody answered in time.'
    case 'superseded':
      return 'A newer request replaced this one.'
    case undefined:
      return 'Still waiting.'
    default:
      return settlement satisfies never
  }
}

const VERBS = { answered: 'Answered', approved: 'Approved', denied: 'Denied' }

const SURFACES: Record<Via, string> = {
  web: ' in the web app',
  http: ' over HTTP',
  cli: ' on the command line',
  terminal: ' in the terminal',
  telegram: ' on Telegram',
  mcp: ' over MCP',
  direct: '',
  policy: ' by a rule',
}

/** Who settled it and where, to follow the verb. */
function settledBy(interaction: Interaction): string {
  const { by, via } = interaction
  if (isDefaultAnswer(interaction)) return ' by the default that was declared, as nobody answered in time'
  const person = by ? ` by ${oneLine(by.name ?? by.id)}` : ''
  return `${person}${via ? SURFACES[via] : ''}`
}
