'use client'
// The public API: a component for each thing that a page shows, and below each component a hook with the same state and
// actions but without markup (`ToolApproval` and `useApproval`). Everything needs an `AskbackProvider` around it.
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
export {
  GuardHint,
  MustSee,
  ShowAll,
  type GuardHintProps,
  type MustSeeProps,
  type ShowAllProps,
} from './guard/must-see.js'
export { Inbox, type InboxProps } from './inbox/inbox.js'
export { focusInteraction, focusNextInteraction } from './card-focus.js'
export { InteractionCard, type InteractionCardProps } from './interaction/interaction-card.js'
export { SubmitButton, type SubmitButtonProps } from './interaction/controls.js'
export { defineRenderer, type RenderedKind, type RendererProps } from './interaction/define-renderer.js'
export type { InteractionProps, InteractionRenderer, Renderers } from './renderers.js'
export { useLabels, type Label, type Labels, type Translate } from './labels.js'
export { useDraft } from './use-draft.js'
export { useDeadline, type Deadline } from './interaction/use-deadline.js'
export {
  useInteraction,
  type AnswerPhase,
  type InteractionCardControl,
  type InteractionControl,
} from './interaction/use-interaction.js'
export { InteractionView } from './kinds/interaction-view.js'
export type { ModuleRendererProps } from './interaction/module-card.js'
export { moduleRenderer, type RendererModule, type RendererTools } from './kinds/module-renderer.js'
export { PlanReview } from './plan-review/plan-review.js'
export { usePlanReview, type PlanReviewControl } from './plan-review/use-plan-review.js'
export { QuestionPrompt } from './question/question-prompt.js'
export { useQuestion, type QuestionControl, type ReplyDraft } from './question/use-question.js'
export { ToolCallBlock, type ToolCallBlockProps } from './tool-call/tool-call-block.js'
export { ToolCallGroup, type ToolCallGroupProps } from './tool-call/tool-call-group.js'
export { AskbackProvider, useClient, useTransport, type AskbackProviderProps } from './askback-provider.js'
export { useInbox, useSession, useSessions } from './use-session.js'
