'use client'
// The hooks without components and styles, for pages that draw everything themselves. They need an `AskbackProvider` around them.
export { useApproval, type ApprovalControl } from './approval/use-approval.js'
export { AskbackProvider, useClient, useTransport, type AskbackProviderProps } from './askback-provider.js'
export { useComposer, type ComposerControl } from './composer/use-composer.js'
export type { TextTarget } from './composer/text-target.js'
export { useForm, type FormControl } from './form/use-form.js'
export { useCardGuard, useMustSee, type CardGuard } from './guard/card-guard.js'
export { useDeadline, type Deadline } from './interaction/use-deadline.js'
export {
  useInteraction,
  type AnswerPhase,
  type InteractionCardControl,
  type InteractionControl,
} from './interaction/use-interaction.js'
export { usePlanReview, type PlanReviewControl } from './plan-review/use-plan-review.js'
export type { ReplyDraft } from './question/use-question.js'
export { useQuestion, type QuestionControl } from './question/use-question.js'
export type { InteractionProps, InteractionRenderer, Renderers } from './renderers.js'
export { useLabels, type Label, type Labels, type Translate } from './labels.js'
export { useDraft } from './use-draft.js'
export { useInbox, useSession, useSessions } from './use-session.js'
