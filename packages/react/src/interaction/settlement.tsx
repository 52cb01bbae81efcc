import {
  isDefaultAnswer,
  type Interaction,
  type Json,
  type SettlementKind,
  type Via,
} from '@askback/protocol'
import {
  BanIcon,
  CheckIcon,
  CircleSlashIcon,
  CopyIcon,
  HourglassIcon,
  RefreshCwIcon,
  Undo2Icon,
  XIcon,
} from '../icons.js'
import type { ComponentType } from 'react'
import { JsonInput } from '../content/call-input.js'
import { useCopy } from '../content/code-block.js'
import { SafeText } from '../content/safe-text.js'
import { useViewer } from '../askback-provider.js'
import { LabelWithNodes } from '../label-with-nodes.js'
import { useLabels, type Label, type Translate } from '../labels.js'

export type Tone = 'pending' | 'good' | 'bad' | 'gone'

interface SettlementStyle {
  tone: Tone
  word: Label
  icon: ComponentType<{ 'aria-hidden': true }>
}

const settlementStyles: Record<SettlementKind, SettlementStyle> = {
  answered: { tone: 'good', word: 'Answered', icon: CheckIcon },
  approved: { tone: 'good', word: 'Approved', icon: CheckIcon },
  denied: { tone: 'bad', word: 'Denied', icon: XIcon },
  timed_out: { tone: 'gone', word: 'Timed out: nobody answered in time', icon: HourglassIcon },
  cancelled: { tone: 'gone', word: 'Cancelled: the agent no longer waits for this', icon: CircleSlashIcon },
  superseded: { tone: 'gone', word: 'Replaced by a newer request', icon: RefreshCwIcon },
}

const closedStyle: SettlementStyle = { tone: 'gone', word: 'Closed: the call has ended', icon: BanIcon }

/** Feedback on a plan is a denial on the wire, but not a refusal: the agent continues with it. */
const adjustedStyle: SettlementStyle = { tone: 'gone', word: 'Changes requested', icon: Undo2Icon }

function styleOf({ kind, settlement }: Interaction): SettlementStyle {
  if (settlement === undefined) return closedStyle
  return kind === 'plan_review' && settlement === 'denied' ? adjustedStyle : settlementStyles[settlement]
}

const surfaceLabels: Record<Via, Label> = {
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
  return interaction.status === 'pending' ? 'pending' : styleOf(interaction).tone
}

/** How an interaction was settled, by whom and where, unless that was on this page. */
export function SettlementLine({
  interaction,
  isOwn,
  word,
}: {
  interaction: Interaction
  isOwn: boolean
  word?: string | undefined
}) {
  const t = useLabels()
  const viewer = useViewer()
  const { by } = interaction
  const where = whereOf(interaction)
  const { tone, icon: Icon } = styleOf(interaction)
  const isOwnDecision = isOwn || isStoppedBy(interaction, viewer)
  return (
    <p className="ab-outcome" data-tone={tone}>
      <span className="ab-outcome-icon">
        <Icon aria-hidden />
      </span>
      <span className="ab-outcome-text">
        <span className="ab-outcome-word">{word ?? t(labelFor(interaction, viewer))}</span>
        {!isOwnDecision && (by || where !== undefined) && (
          <span className="ab-quiet">
            {by && (
              <>
                {by.id === viewer ? (
                  t('by you')
                ) : (
                  <LabelWithNodes
                    label="by {name}"
                    nodes={{
                      name: (
                        <bdi>
                          <SafeText text={by.name ?? by.id} />
                        </bdi>
                      ),
                    }}
                  />
                )}
              </>
            )}
            {by && ' '}
            {where && t(where)}
          </span>
        )}
      </span>
    </p>
  )
}

/** The same as one sentence for screen readers. */
export function settlementText(interaction: Interaction, viewer: string | null, t: Translate): string {
  const { by } = interaction
  const word = t(labelFor(interaction, viewer))
  if (isStoppedBy(interaction, viewer)) return word
  const where = whereOf(interaction)
  const who = by && (by.id === viewer ? t('by you') : t('by {name}', { name: by.name ?? by.id }))
  return [word, who, where && t(where)].filter(Boolean).join(' ')
}

function labelFor(interaction: Interaction, viewer: string | null): Label {
  if (isStoppedBy(interaction, viewer)) return 'You stopped this'
  const isCancelledBySomebody = interaction.settlement === 'cancelled' && interaction.by !== undefined
  return isCancelledBySomebody ? 'Cancelled' : styleOf(interaction).word
}

function isStoppedBy({ settlement, by }: Interaction, viewer: string | null): boolean {
  return settlement === 'cancelled' && viewer !== null && by?.id === viewer
}

function whereOf(interaction: Interaction): Label | undefined {
  if (isDefaultAnswer(interaction)) return 'with the default answer: nobody answered in time'
  return interaction.via && surfaceLabels[interaction.via]
}

/** Text that was typed on a card that someone else settled first, with a button to copy it. */
export function UnsentText({ text }: { text: string }) {
  const t = useLabels()
  const { hasCopied, copy } = useCopy(text)
  return (
    <p className="ab-unsent">
      <span className="ab-summary-text">
        <span className="ab-quiet">{t('Not sent:')} </span>
        <bdi>
          <SafeText text={text} />
        </bdi>
      </span>
      <button type="button" className="ab-button" data-tone="quiet" data-size="small" onClick={copy}>
        {hasCopied ? <CheckIcon aria-hidden /> : <CopyIcon aria-hidden />}
        {t(hasCopied ? 'Copied' : 'Copy')}
      </button>
    </p>
  )
}

/** The answer to an interaction whose kind the page does not know. */
export function PlainAnswer({ answer }: { answer: Json | undefined }) {
  const t = useLabels()
  return answer !== undefined && <JsonInput input={answer} title={t('The answer')} />
}
