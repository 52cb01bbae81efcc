import type { HighlighterCore, ThemedToken } from 'shiki/core'

/** The languages that agents mostly write, each loaded when it is first needed. */
const languages = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}

type Language = keyof typeof languages

const aliases: Record<string, Language | undefined> = {
  cc: 'cpp',
  h: 'c',
  htm: 'html',
  javascript: 'typescript',
  js: 'typescript',
  jsx: 'tsx',
  json5: 'json',
  jsonc: 'json',
  md: 'markdown',
  patch: 'diff',
  py: 'python',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

export type HighlightedLine = Pick<ThemedToken, 'content' | 'htmlStyle'>[]

let highlighter: Promise<HighlighterCore> | null = null

/** The lines of a text in colour; `null` for a language that is not known. */
export async function highlight(code: string, language: string): Promise<HighlightedLine[] | null> {
  const name = languageOf(language)
  if (name === null) return null
  const shiki = await (highlighter ??= load())
  await shiki.loadLanguage(languages[name]())
  await nextTask()
  const { tokens } = shiki.codeToTokens(code, {
    lang: name,
    themes: { light: 'github-light-default', dark: 'github-dark-default' },
    defaultColor: false,
  })
  return tokens
}

let last: Promise<void> = Promise.resolve()

/** One text at a time, and when there is nothing better to do: the first of a language takes a while. */
function nextTask(): Promise<void> {
  const idle = (done: () => void) =>
    'requestIdleCallback' in window ? requestIdleCallback(done, { timeout: 2000 }) : setTimeout(done, 50)
  last = last.then(() => new Promise((resolve) => void idle(resolve)))
  return last
}

function languageOf(name: string): Language | null {
  const lower = name.toLowerCase()
  if (Object.hasOwn(aliases, lower)) return aliases[lower] ?? null
  return Object.hasOwn(languages, lower) ? (lower as Language) : null
}

async function load(): Promise<HighlighterCore> {
  const [{ createHighlighterCore }, { createJavaScriptRegexEngine }, light, dark] = await Promise.all([
    import('shiki/core'),
    import('shiki/engine/javascript'),
    import('shiki/themes/github-light-default.mjs'),
    import('shiki/themes/github-dark-default.mjs'),
  ])
  return createHighlighterCore({
    engine: createJavaScriptRegexEngine({ forgiving: true }),
    themes: [light, dark],
    langs: [],
  })
}
