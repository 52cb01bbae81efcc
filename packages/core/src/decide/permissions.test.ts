import { permissionMode } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { decidePermission, type EditTarget, type PermissionDecision } from './permissions.js'

const modes = permissionMode.options
const targets: EditTarget[] = ['inside', 'outside', 'plan_file', 'none']

describe('the permission table', () => {
  // mode, edit target, without a rule, with a rule
  it.each<[(typeof modes)[number], EditTarget, PermissionDecision, PermissionDecision]>([
    ['default', 'inside', 'ask', 'allow'],
    ['default', 'outside', 'ask', 'allow'],
    ['default', 'plan_file', 'ask', 'allow'],
    ['default', 'none', 'ask', 'allow'],
    ['acceptEdits', 'inside', 'allow', 'allow'],
    ['acceptEdits', 'outside', 'ask', 'allow'],
    ['acceptEdits', 'plan_file', 'ask', 'allow'],
    ['acceptEdits', 'none', 'ask', 'allow'],
    ['plan', 'inside', 'ask', 'ask'],
    ['plan', 'outside', 'ask', 'allow'],
    ['plan', 'plan_file', 'allow', 'allow'],
    ['plan', 'none', 'ask', 'allow'],
    ['bypassPermissions', 'inside', 'allow', 'allow'],
    ['bypassPermissions', 'outside', 'allow', 'allow'],
    ['bypassPermissions', 'plan_file', 'allow', 'allow'],
    ['bypassPermissions', 'none', 'allow', 'allow'],
  ])('in %s an edit of %s is %s, and with a rule %s', (mode, edit, without, withRule) => {
    expect(decidePermission({ mode, subject: { kind: 'approval', edit, rule: false } })).toBe(without)
    expect(decidePermission({ mode, subject: { kind: 'approval', edit, rule: true } })).toBe(withRule)
  })

  it.each(['question', 'form', 'plan_review', 'color_picker', '__proto__'])(
    'no mode and no rule ever answers a %s',
    (kind) => {
      for (const mode of modes) {
        for (const edit of targets) {
          for (const rule of [false, true])
            expect(decidePermission({ mode, subject: { kind, edit, rule } })).toBe('ask')
        }
      }
    },
  )

  it('acceptEdits does not let a shell command run', () => {
    expect(
      decidePermission({ mode: 'acceptEdits', subject: { kind: 'approval', edit: 'none', rule: false } }),
    ).toBe('ask')
  })
})
