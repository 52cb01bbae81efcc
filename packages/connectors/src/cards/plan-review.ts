import { planReviewAnswer, planReviewRequest, spellOut, type PlanDecision } from '@askback/protocol'
import { BACK, OUTDATED_CONTROL, prose, type CardControl, type CardKind } from './card.js'

const DECISIONS: Record<PlanDecision, string> = {
  edit: 'Proceed',
  clean_edit: 'Proceed with a fresh context',
  default: 'Approve, but ask before edits',
  adjust: 'Adjust…',
}

/** A plan with its four decisions. "Adjust" takes a second step, in which the feedback is sent as a text. */
export const planReviewCard: CardKind = {
  stepOf: () => 0,

  bodyOf(interaction, { asking }) {
    const { plan, planFilePath } = planReviewRequest.parse(interaction.request)
    return {
      title: 'Review the plan',
      parts: [
        { as: 'markdown', text: prose(plan) },
        ...(planFilePath
          ? [{ as: 'code' as const, text: spellOut(planFilePath, 'code'), label: 'File' }]
          : []),
      ],
      controls: asking ? [BACK] : Object.entries(DECISIONS).map(([id, label]) => decisionControl(id, label)),
      asks: asking ? 'Send what should change as a text.' : null,
    }
  },

  handleInput(_interaction, view, input) {
    if ('text' in input) {
      if (!view.asking) return { do: 'route' }
      return { do: 'answer', answer: { decision: 'adjust', feedback: input.text.trim() } }
    }
    switch (input.tap) {
      case 'edit':
      case 'clean_edit':
      case 'default':
        return { do: 'answer', answer: { decision: input.tap } }
      case 'adjust':
        return {
          do: 'show',
          view: { ...view, asking: { what: 'feedback', by: input.by } },
          message: 'Send what should change as a text.',
        }
      case 'back':
        return { do: 'show', view: { ...view, asking: null }, message: 'Nothing is decided yet.' }
      default:
        return OUTDATED_CONTROL
    }
  },

  settlementDetail: ({ answer }) =>
    planReviewAnswer.safeParse(answer).data?.updatedPlan === undefined ? '' : ' as edited',

  answerText({ answer }) {
    const parsed = planReviewAnswer.safeParse(answer)
    if (!parsed.success) return ''
    const { decision, feedback, updatedPlan } = parsed.data
    const text = decision === 'adjust' ? `Adjust: ${prose(feedback ?? '')}` : DECISIONS[decision]
    return updatedPlan === undefined ? text : `${text}\nAs edited:\n${prose(updatedPlan)}`
  },
}

function decisionControl(id: string, label: string): CardControl {
  return { id, label, role: id === 'adjust' ? 'deny' : 'approve' }
}
