import { isDefaultAnswer, type Interaction, type SettlementKind, type Via } from '@askback/protocol'
import { Ban, Check, CircleSlash, Hourglass, RefreshCw, Undo2, X } from 'lucide-react'
import type { ComponentType } from 'react'
import { ShownText } from '../content/shown-text.js'
import { useViewer } from '../transport-provider.js'

export type Tone = 'pending' | 'good' | 'bad' | 'gone'

interface Look {
  tone: Tone
  word: string
  icon: ComponentType<{ 'aria-hidden': true }>
}

const looks: Record<SettlementKind, Look> = {
  answered: { tone: 'good', word: 'Answered', icon: Check },
  approved: { tone: 'good', word: 'Approved', icon: Check },
  denied: { tone: 'bad', word: 'Denied', icon: X },
  timed_out: { tone: 'gone', word: 'Timed out: nobody answered in time', icon: Hourglass },
  cancelled: { tone: 'gone', word: 'Cancelled: the agent no longer waits for this', icon: CircleSlash },
  superseded: { tone: 'gone', word: 'Replaced by a newer request', icon: RefreshCw },
}

const closed: Look = { tone: 'gone', word: 'Closed: the call has ended', icon: Ban }

/** The plan goes back to the agent, which works on: that is no refusal. */
const adjusted: Look = { tone: 'gone', word: 'Changes requested', icon: Undo2 }

function lookOf({ kind, settlement }: Interaction): Look {
  if (settlement === undefined) return closed
  return kind === 'plan_review' && settlement === 'denied' ? adjusted : looks[settlement]
}

const surfaces: Record<Via, string> = {
  web: 'in the browser',
  http: 'over HTTP',
  cli: 'on the command line',
  terminal: 'in the terminal',
  telegram: 'on Telegram',
  mcp: 'over MCP',
  direct: 'in the app',
  policy: 'by a rule or the permission mode',
}

export function toneOf(interaction: Interaction): Tone {
  return interaction.status === 'pending' ? 'pending' : lookOf(interaction).tone
}

/** How it ended, and who ended it where, unless that was here. */
export function Outcome({
  interaction,
  isOwn,
  word,
}: {
  interaction: Interaction
  isOwn: boolean
  word?: string | undefined
}) {
  const viewer = useViewer()
  const { by } = interaction
  const where = whereOf(interaction)
  const { tone, icon: Icon } = lookOf(interaction)
  const isShort = isOwn || isStoppedBy(interaction, viewer)
  return (
    <p className="ab-outcome" data-tone={tone}>
      <span className="ab-outcome-icon">
        <Icon aria-hidden />
      </span>
      <span className="ab-outcome-text">
        <span className="ab-outcome-word">{word ?? wordFor(interaction, viewer)}</span>
        {!isShort && (by || where !== undefined) && (
          <span className="ab-quiet">
            {by && (
              <>
                by{' '}
                {by.id === viewer ? (
                  'you'
                ) : (
                  <bdi>
                    <ShownText text={by.name ?? by.id} />
                  </bdi>
                )}
              </>
            )}
            {by && ' '}
            {where}
          </span>
        )}
      </span>
    </p>
  )
}

/** The same in one sentence, to be spoken. */
export function outcomeText(interaction: Interaction, viewer: string | null): string {
  const { by } = interaction
  const word = wordFor(interaction, viewer)
  if (isStoppedBy(interaction, viewer)) return word
  const who = by && `by ${by.id === viewer ? 'you' : (by.name ?? by.id)}`
  return [word, who, whereOf(interaction)].filter(Boolean).join(' ')
}

function wordFor(interaction: Interaction, viewer: string | null): string {
  if (isStoppedBy(interaction, viewer)) return 'You stopped this'
  const isCancelledBySomebody = interaction.settlement === 'cancelled' && interaction.by !== undefined
  return isCancelledBySomebody ? 'Cancelled' : lookOf(interaction).word
}

function isStoppedBy({ settlement, by }: Interaction, viewer: string | null): boolean {
  return settlement === 'cancelled' && viewer !== null && by?.id === viewer
}

function whereOf(interaction: Interaction): string | undefined {
  if (isDefaultAnswer(interaction)) return 'with the default answer: nobody answered in time'
  return interaction.via && surfaces[interaction.via]
}
