import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PermissionMode } from '@askback/protocol'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { folderOf } from './folders.js'
import { claudeSession } from './claude-session.js'
import type { Block } from './scenario.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const run = (command: string): Block => ({ tool: 'Bash', input: { command, description: 'Runs' } })
const write = (file_path: string, content = 'x'): Block => ({ tool: 'Write', input: { file_path, content } })

async function startSession(when: string, say: Block[], expects: (string | RegExp)[], mode?: PermissionMode) {
  const cwd = await folderOf('work')
  const inCwd = JSON.parse(JSON.stringify(say).replaceAll('CWD', cwd)) as Block[]
  endpoint.add({ when, steps: [{ say: inCwd }, { expects, say: [{ text: 'Done.' }] }] })
  const opened = await claudeSession({ url: endpoint.url, cwd, ...(mode && { mode }) })
  await opened.say(when)
  return opened
}

describe.concurrent('an approval', () => {
  it('shows the call, and lets it run', async () => {
    const { pending, answer, until, of, close } = await startSession(
      'approve it',
      [run('touch made && echo made it')],
      ['made it'],
    )
    const [item] = await pending()
    expect(item).toMatchObject({
      kind: 'approval',
      toolName: 'Bash',
      request: { input: { command: 'touch made && echo made it' } },
    })
    expect(JSON.stringify(item!.request)).not.toContain('suggestions')
    await answer(item!, { decision: 'approve' })
    await until('turn_ended')
    expect((await of('tool_result'))[0]).toMatchObject({ toolCallId: item!.toolCallId, isError: false })
    await close()
  })

  it('that is denied gives the model the reason', async () => {
    const { pending, answer, until, close } = await startSession(
      'deny it',
      [run('touch no')],
      ['denied', 'Use the other folder'],
    )
    const [item] = await pending()
    await answer(item!, { decision: 'deny', message: 'Use the other folder' })
    expect((await until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await close()
  })

  it('of one of two concurrent calls is independent of the other', async () => {
    const outside = await folderOf('outside')
    const paths = ['one', 'two'].map((name) => join(outside, name))
    for (const path of paths) await writeFile(path, `what is in ${path}`)
    const read = (file_path: string) => ({ tool: 'Read', input: { file_path } })
    const { pending, answer, until, of, close } = await startSession('read both', paths.map(read), [
      'Not that one',
      `what is in ${paths[1]}`,
    ])
    const items = await pending(2)
    const about = (path: string) => items.find(({ request }) => JSON.stringify(request).includes(path))!
    await answer(about(paths[0]!), { decision: 'deny', message: 'Not that one' })
    await answer(about(paths[1]!), { decision: 'approve' })
    expect(await until('turn_ended')).toMatchObject([{ reason: 'done' }])
    const results = await of('tool_result')
    expect(results.find(({ toolCallId }) => toolCallId === about(paths[0]!).toolCallId)!.isError).toBe(true)
    expect(results.find(({ toolCallId }) => toolCallId === about(paths[1]!).toolCallId)!.isError).toBe(false)
    await close()
  })

  it('runs the input that the person has changed it to', async () => {
    const { pending, answer, until, of, close } = await startSession(
      'edit it',
      [run('touch a && echo theirs')],
      ['mine'],
    )
    const [item] = await pending()
    await answer(item!, {
      decision: 'approve',
      updatedInput: { command: 'touch a && echo mine', description: 'Runs' },
    })
    await until('turn_ended')
    expect((await of('interaction_response'))[0]).toHaveProperty('updatedDigest')
    expect((await of('tool_result'))[0]!.output).toContain('mine')
    await close()
  })

  it('for the session covers the same input, and no other', async () => {
    const again = run('touch again')
    const when = 'three times'
    const { pending, answer, until, of, close } = await startSession(
      when,
      [again, again, run('touch other')],
      [],
    )
    const [first] = await pending()
    await answer(first!, { decision: 'approve', scope: 'session' })
    const [other] = await pending()
    expect(other!.request).toMatchObject({ input: { command: 'touch other' } })
    await answer(other!, { decision: 'approve' })
    await until('turn_ended')
    expect((await of('interaction_response')).map(({ via }) => via)).toEqual(['direct', 'policy', 'direct'])
    await close()
  })

  it('for always covers this folder, and no other', async () => {
    const when = 'touch it always'
    endpoint.add({ when, steps: [{ say: [run('touch always')] }, { say: [{ text: 'Done.' }] }] })
    const first = await claudeSession({ url: endpoint.url })
    await first.say(when)
    const [item] = await first.pending()
    await first.answer(item!, { decision: 'approve', scope: 'always' })
    await first.until('turn_ended')
    const { store, home, cwd, host } = first
    const vias = async (folder: string) => {
      const { session } = await host.createSession({ cwd: folder })
      const again = await claudeSession({
        url: endpoint.url,
        before: { store, home, cwd: folder, sessionId: session.id },
      })
      await again.say(when)
      await again.until('interaction_request')
      const [asked] = (await host.desk.pending({ sessionId: session.id })).interactions
      if (asked) await again.answer(asked, { decision: 'deny' })
      await again.until('turn_ended')
      const found = (await again.of('interaction_response')).map(({ via }) => via)
      await again.close()
      return found
    }
    expect(await vias(cwd)).toEqual(['policy'])
    expect(await vias(await folderOf('elsewhere'))).toEqual(['direct'])
    await first.close()
  })

  it.each<[PermissionMode, (string | null)[]]>([
    ['default', [null, null, null]],
    ['acceptEdits', ['policy', null, null]],
    ['bypassPermissions', ['policy', 'policy', 'policy']],
  ])('follows the permission rules of the mode %s', async (mode, expected) => {
    const outside = await folderOf('outside')
    const blocks = [write('CWD/in.txt'), write(join(outside, 'out.txt')), run('mkdir made')]
    const { pending, answer, until, of, close } = await startSession(`table ${mode}`, blocks, [], mode)
    for (const asked of expected.filter((via) => via === null).keys()) {
      await until('interaction_request', asked + 1 + expected.filter((via) => via !== null).length)
      const [item] = await pending()
      await answer(item!, { decision: 'approve' })
    }
    await until('turn_ended')
    const responses = await of('interaction_response')
    expect(responses.map(({ via }) => (via === 'policy' ? via : null))).toEqual(expected)
    expect((await of('tool_result')).map(({ isError }) => isError)).toEqual([false, false, false])
    await close()
  })

  it('resolves links: an edit through a link out of the folder is outside', async () => {
    const outside = await folderOf('outside')
    const cwd = await folderOf('work')
    await symlink(outside, join(cwd, 'link'))
    const when = 'through a link'
    endpoint.add({
      when,
      steps: [{ say: [write(join(cwd, 'link/f.txt'))] }, { expects: ['denied'], say: [{ text: 'Ok.' }] }],
    })
    const opened = await claudeSession({ url: endpoint.url, cwd, mode: 'acceptEdits' })
    await opened.say(when)
    const [item] = await opened.pending()
    await opened.answer(item!, { decision: 'deny' })
    await opened.until('turn_ended')
    await expect(readFile(join(outside, 'f.txt'))).rejects.toThrow('ENOENT')
    await opened.close()
  })

  it('follows a change of the mode during the turn', async () => {
    const when = 'switch me'
    endpoint.add({
      when,
      steps: [{ say: [run('touch one')] }, { say: [run('touch two')] }, { say: [{ text: 'Done.' }] }],
    })
    const { host, sessionId, say, pending, answer, until, of, close } = await claudeSession({
      url: endpoint.url,
    })
    await say(when)
    const [item] = await pending()
    await host.setPermissionMode(sessionId, 'bypassPermissions')
    await answer(item!, { decision: 'approve' })
    await until('turn_ended')
    expect((await of('interaction_response')).map(({ via }) => via)).toEqual(['direct', 'policy'])
    await close()
  })

  it('names the subagent that asks, and its call has the call that started the subagent as parent', async () => {
    const prompt = 'look around in the cellar'
    const task = { description: 'Looks', subagent_type: 'general-purpose', run_in_background: false }
    endpoint.add(
      { when: prompt, steps: [{ say: [run('touch cellar')] }, { say: [{ text: 'Looked around.' }] }] },
      {
        when: 'send somebody',
        steps: [
          { say: [{ tool: 'Task', input: { ...task, prompt } }] },
          { expects: ['Looked around.'], say: [{ text: 'Done.' }] },
        ],
      },
    )
    const { say, pending, answer, until, of, close } = await claudeSession({ url: endpoint.url })
    await say('send somebody')
    const [item] = await pending()
    expect(item!.agentId).toBeTypeOf('string')
    await answer(item!, { decision: 'approve' })
    await until('turn_ended')
    const calls = await of('tool_call')
    const parent = calls.find(({ toolName }) => toolName !== 'Bash')
    expect(calls.find(({ toolName }) => toolName === 'Bash')).toMatchObject({
      parentToolCallId: parent!.toolCallId,
    })
    await close()
  })
})
