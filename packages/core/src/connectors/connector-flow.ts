import { isDefaultAnswer, spellOut, spellOutLine, type Interaction, type Via } from '@askback/protocol'
import { approvalFlow } from './connector-approval.js'
import {
  stale,
  type CardBody,
  type CardFlow,
  type CardInput,
  type CardStep,
  type CardView,
} from './connector-card.js'
import { formFlow } from './connector-form.js'
import { planReviewFlow } from './connector-plan-review.js'
import { questionFlow } from './connector-question.js'

/** A kind of an embedder's own: it can be seen here, and answered where its renderer is. */
const otherFlow: CardFlow = {
  step: () => 0,
  body: (item) => ({
    title: `Waiting: ${spellOutLine(item.kind, 'prose')}`,
    parts: [
      { as: 'code', text: spellOut(JSON.stringify(item.request, null, 2), 'code') },
      { as: 'note', text: 'Answer this in the web app.' },
    ],
    controls: [],
    asks: null,
  }),
  take: (_item, _view, input) => ('text' in input ? { do: 'route' } : stale),
  said: () => '',
}

const flows: Record<string, CardFlow> = {
  question: questionFlow,
  approval: approvalFlow,
  plan_review: planReviewFlow,
  form: formFlow,
}

function flowOf({ kind }: Interaction): CardFlow {
  return (Object.hasOwn(flows, kind) ? flows[kind] : undefined) ?? otherFlow
}

export function stepOf(item: Interaction, view: CardView): number {
  return flowOf(item).step(item, view)
}

export function bodyOf(item: Interaction, view: CardView): CardBody {
  return flowOf(item).body(item, view)
}

/** What a tap or a text does to an interaction that is pending. */
export function takeInput(item: Interaction, view: CardView, input: CardInput): CardStep {
  if ('text' in input && input.text.trim() === '') return { do: 'refuse', told: 'The text is empty.' }
  return flowOf(item).take(item, view, input)
}

/** What was said to one step of it. */
export function saidOf(item: Interaction, view: CardView, step?: number): string {
  return flowOf(item).said(item, view, step)
}

/** How it came out, in words that every surface uses. */
export function outcomeOf(item: Interaction, view: CardView): string {
  const { settlement, message } = item
  const why = message ? ` ${spellOut(message, 'prose')}` : ''
  switch (settlement) {
    case 'answered':
    case 'approved':
    case 'denied': {
      const said = saidOf(item, view)
      const how = flowOf(item).how?.(item) ?? ''
      const isAdjusted = item.kind === 'plan_review' && settlement === 'denied'
      const verb = isAdjusted ? 'Changes requested' : verbs[settlement]
      return `${verb}${how}${whoOf(item)}.${said ? `\n${said}` : ''}`
    }
    case 'cancelled':
      return `Cancelled${whoOf(item)}.${why}`
    case 'timed_out':
      return 'Timed out: nobody answered in time.'
    case 'superseded':
      return 'This was asked anew.'
    case undefined:
      return 'Still waiting.'
    default:
      return settlement satisfies never
  }
}

const verbs = { answered: 'Answered', approved: 'Approved', denied: 'Denied' }

const places: Record<Via, string> = {
  web: ' in the web app',
  http: ' over HTTP',
  cli: ' on the command line',
  terminal: ' in the terminal',
  telegram: ' on Telegram',
  mcp: ' over MCP',
  direct: '',
  policy: ' by a rule',
}

function whoOf(item: Interaction): string {
  const { by, via } = item
  if (isDefaultAnswer(item)) return ' by the default that was declared, as nobody answered in time'
  const who = by ? ` by ${spellOutLine(by.name ?? by.id, 'prose')}` : ''
  return `${who}${via ? places[via] : ''}`
}
