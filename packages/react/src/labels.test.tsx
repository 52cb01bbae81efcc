// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import { screen } from '@testing-library/react'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { renderSession, setUpComponentTests } from './render-session.test.helper.js'

setUpComponentTests()

const approval = asked('i1', { agentId: 'helper' })

it('shows the texts of the provider in place of the English ones, with values and elements in them', async () => {
  const labels = {
    'Approval needed': 'Freigabe nötig',
    'Approve once': 'Einmal erlauben',
    'asked by subagent {name}': 'von {name} gefragt',
  }
  await renderSession({ events: approval, labels })
  screen.getByRole('group', { name: 'Freigabe nötig' })
  screen.getByRole('button', { name: 'Einmal erlauben' })
  expect(document.querySelector('.ab-card-asker')?.textContent).toBe('von helper gefragt')
})

it('shows the English text where there is no other', async () => {
  await renderSession({ events: approval, labels: { 'Approve once': 'Einmal erlauben' } })
  screen.getByRole('button', { name: 'Deny' })
  expect(screen.queryByRole('button', { name: 'Approve once' })).toBeNull()
})

it('every text of the catalogue is used', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')
  const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/u.test(path) && !/\.test\.|label-catalogue/u.test(path))
    .map(read)
    .join('\n')
  const texts = [...read('label-catalogue.ts').matchAll(/^ {2}\| '(.*)'$/gmu)].map(([, text = '']) => text)
  expect(texts.length).toBeGreaterThan(150)
  expect(texts.filter((text) => !sources.includes(`'${text}'`) && !sources.includes(`"${text}"`))).toEqual([])
})
