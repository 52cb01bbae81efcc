import { session } from './program.js'

/** A tool of a framework that has no questions of its own. */
export async function askQuestionTool({
  question,
  choices,
}: {
  question: string
  choices: string[]
}): Promise<string> {
  const outcome = await session.choose(question, choices, { key: question }).outcome()
  return outcome.ok ? outcome.value : outcome.message
}
