import type { HighlighterCore } from 'shiki/core'
import type { HighlightedLine } from '../code-highlighter.js'

/** The languages that agents write most, each loaded when it is first needed. */
const languages = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
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

export type Language = keyof typeof languages

const aliases: Record<string, Language | undefined> = {
  // The grammar of C++ takes 780 KB, ten times that of C, and colours little more.
  'c++': 'c',
  cc: 'c',
  cpp: 'c',
  h: 'c',
  hpp: 'c',
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

let highlighter: Promise<HighlighterCore> | null = null

/**
 * Highlights the lines of a code. The first code of a language takes long, so call it in a worker: see `shikiHighlighter`.
 */
export async function tokensOf(code: string, language: Language): Promise<HighlightedLine[]> {
  const shiki = await (highlighter ??= loadHighlighter())
  await shiki.loadLanguage(languages[language]())
  const { tokens } = shiki.codeToTokens(code, {
    lang: language,
    themes: { light: 'github-light-default', dark: 'github-dark-default' },
    defaultColor: false,
  })
  return tokens.map((line) => line.map(({ content, htmlStyle }) => ({ content, htmlStyle: htmlStyle ?? {} })))
}

export function languageOf(name: string): Language | null {
  const lower = name.toLowerCase()
  if (Object.hasOwn(aliases, lower)) return aliases[lower] ?? null
  return isLanguage(lower) ? lower : null
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(languages, name)
}

async function loadHighlighter(): Promise<HighlighterCore> {
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
