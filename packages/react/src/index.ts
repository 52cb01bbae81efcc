// The public API: a component for each thing that a page shows, and below each component a hook with the same state and
// actions but without markup (`ToolApproval` and `useApproval`). Everything needs a `TransportProvider` around it.
export { ToolApproval } from './approval/tool-approval.js'
export { useApproval, type ApprovalControl } from './approval/use-approval.js'
export type { TextTarget } from './composer/text-target.js'
export { useComposer, type ComposerControl } from './composer/use-composer.js'
export type { CodeHighlighter, HighlightedLine } from './code-highlighter.js'
export { Markdown, type MarkdownProps } from './content/markdown.js'
export { SafeText, type SafeTextProps } from './content/safe-text.js'
export { Conversation, type ConversationProps } from './conversation/conversation.js'
export { FormPrompt } from './form/form-prompt.js'
export { useForm, type FormControl } from './form/use-form.js'
export { useCardGuard, useMustSee, type CardGuard } from './guard/card-guard.js'
export { MustSee, ShowAll, type MustSeeProps, type ShowAllProps } from './guard/must-see.js'
export { Inbox, type InboxProps } from './inbox/inbox.js'
export { focusInteraction, focusNextInteraction } from './card-focus.js'
export { InteractionCard, type InteractionCardProps } from './interaction/interaction-card.js'
export { registerRenderer, type InteractionProps, type InteractionRenderer } from './interaction/renderers.js'
export { useDeadline, type Deadline } from './interaction/deadline.js'
export { useInteraction, type AnswerPhase, type InteractionControl } from './interaction/use-interaction.js'
export { InteractionView } from './kinds/interaction-view.js'
export { PlanReview } from './plan-review/plan-review.js'
export { usePlanReview, type PlanReviewControl } from './plan-review/use-plan-review.js'
export { QuestionPrompt } from './question/question-prompt.js'
export { useQuestion, type QuestionControl, type ReplyDraft } from './question/use-question.js'
export { ToolCallBlock, type ToolCallBlockProps } from './tool-call/tool-call-block.js'
export { ToolCallGroup, type ToolCallGroupProps } from './tool-call/tool-call-group.js'
export {
  TransportProvider,
  useClient,
  useTransport,
  type TransportProviderProps,
} from './transport-provider.js'
export { useInbox, useSession, useSessions } from './use-session.js'
