import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Command, file } from '../../e2e/http/command.js'
import { claudePrint, claudeTerminal } from './claude-code-cli.js'
import { answer, cwd, endpoint, gateway, home, pending } from './claude-code-world.js'

/** The model writes a plan and hands it in, is asked to change it, and hands it in again. */
function addPlanScenario(when: string): void {
  const write = (content: string) => ({ tool: 'Write', input: { file_path: '{{PLAN}}', content } })
  const exit = { tool: 'ExitPlanMode', input: {} }
  endpoint.add({
    when,
    find: { PLAN: /(\/\S+\/plans\/\S+?\.md)/ },
    steps: [
      { say: [write(`# First plan of ${when}`)] },
      { say: [exit] },
      { expects: ['Smaller steps'], say: [write(`# Second plan of ${when}`)] },
      { say: [exit] },
      { expects: ['approved'], say: [{ text: 'On it.' }] },
    ],
  })
}

/** Asks for changes to the first plan, and approves the second. */
async function reviewTwice(when: string): Promise<void> {
  const first = await pending()
  expect(first).toMatchObject({
    kind: 'plan_review',
    toolName: 'ExitPlanMode',
    request: { plan: `# First plan of ${when}` },
  })
  await answer(first, { decision: 'adjust', feedback: 'Smaller steps, please.' })
  await expect.poll(async () => (await pending()).request).toMatchObject({ plan: `# Second plan of ${when}` })
  await answer(await pending(), { decision: 'edit' })
}

it('in a terminal, a plan is reviewed here through the hooks', async () => {
  const env = { CLAUDE_CONFIG_DIR: join(home, '.claude') }
  const install = new Command(['install', 'claude-code', '--yes', '--data', gateway.data], env)
  expect(await install.ended).toMatchObject({ code: 0 })
  addPlanScenario('plan by hook')
  const terminal = await claudeTerminal('plan by hook', { url: endpoint.url, home, cwd, mode: 'plan' })
  await reviewTwice('plan by hook')
  await expect.poll(terminal.shown).toContain('Onit.')
})

it('without a terminal, a plan is reviewed here through the prompt tool', async () => {
  const config = join(home, 'mcp.json')
  const server = { command: process.execPath, args: [file, 'mcp', '--data', gateway.data] }
  await writeFile(config, JSON.stringify({ mcpServers: { askback: server } }))
  addPlanScenario('plan by tool')
  const args = ['--mcp-config', config, '--strict-mcp-config', '--permission-mode', 'plan']
  const tool = ['--permission-prompt-tool', 'mcp__askback__permission_prompt']
  const done = claudePrint('plan by tool', { url: endpoint.url, home, cwd, args: [...args, ...tool] })
  await reviewTwice('plan by tool')
  expect(await done).toBe('On it.')
})
