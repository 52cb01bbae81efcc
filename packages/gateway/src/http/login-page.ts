import { LOGIN_STORAGE_KEY, type Actor } from '@askback/protocol'
import type { FastifyReply } from 'fastify'
import { createHash } from 'node:crypto'
import { SECURITY_HEADERS } from './responses.js'

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100dvh; display: grid; place-items: center;
  background: light-dark(#ffffff, #131316); color: light-dark(#1c1c21, #ececf0);
  font: 16px/24px ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Inter, Roboto, sans-serif; }
main { max-width: 28rem; padding: 1.5rem; text-align: center; }
h1 { margin: 0 0 .5rem; font-size: 1.125rem; font-weight: 600; }
p { margin: 0 0 1rem; font-size: .875rem; line-height: 1.25rem; color: light-dark(#5b5b66, #a3a3b0); }
code { white-space: nowrap; font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; color: light-dark(#1c1c21, #ececf0); }
button { font: inherit; font-size: .875rem; padding: .5rem 1rem; border-radius: .375rem; cursor: pointer;
  border: 1px solid light-dark(#e6e6ea, #2c2c33); background: light-dark(#f7f7f8, #1b1b20); color: inherit; }
a { color: inherit; }
`

/**
 * A script sends the code, because a link alone can be prefetched, scanned, or opened by another site. The script tests storage before
 * it uses the code: without a stored proof the login would not work. If another person is signed in here, the page asks first,
 * so that a link alone does not sign anybody in as another person.
 */
const SCRIPT = `
(() => {
  const KEY = ${JSON.stringify(LOGIN_STORAGE_KEY)}
  const { id, base } = document.body.dataset
  const code = new URLSearchParams(location.search).get('code')
  const show = (id) => {
    for (const part of document.querySelectorAll('section')) part.hidden = part.id !== id
  }
  let before
  const signIn = async () => {
    show('working')
    const response = await fetch(base + '/api/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    }).catch(() => null)
    if (!response?.ok) return show(response?.status === 401 ? 'used' : 'failed')
    const login = await response.json()
    // Drafts and unsent answers of somebody else must not be sent by this person.
    if (before?.person?.id !== login.person.id)
      for (const key of Object.keys(localStorage))
        if (key.startsWith('askback.') && key !== 'askback.theme') localStorage.removeItem(key)
    localStorage.setItem(KEY, JSON.stringify(login))
    location.replace(base + '/')
  }
  for (const button of document.querySelectorAll('button')) button.addEventListener('click', signIn)
  try {
    before = JSON.parse(localStorage.getItem(KEY) ?? 'null')
    localStorage.setItem(KEY + '.test', '1')
    localStorage.removeItem(KEY + '.test')
  } catch (error) {
    if (!(error instanceof SyntaxError)) return show('blocked')
  }
  history.replaceState(null, '', base + '/login')
  if (before?.person?.id !== undefined && before.person.id !== id) show('switch')
  else void signIn()
})()
`

const used = (prefix: string) => `<h1>This link no longer works</h1>
<p>It has been used, or it is older than 10 minutes. Run <code>askback open</code> to sign in with a new one.</p>
<p>Already signed in here? <a href="${escapeHtml(prefix)}/">Continue to Askback</a></p>`

const POLICY = [
  "default-src 'none'",
  `script-src '${sha256(SCRIPT)}'`,
  `style-src '${sha256(STYLE)}'`,
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Sends the page that signs in with the code in its own address. */
export function sendLoginPage(reply: FastifyReply, person: Actor, prefix: string): void {
  const name = escapeHtml(person.name ?? person.id)
  const html = page(
    `<section id="working"><h1>Signing you in…</h1>
<noscript><p>This page needs JavaScript. Turn it on for this address, then reload.</p></noscript></section>
<section id="switch" hidden><h1>Sign in as ${name}?</h1>
<p>This browser is signed in as somebody else. Continue only if you asked for this link.</p>
<button type="button">Sign in as ${name}</button></section>
<section id="blocked" hidden><h1>This browser blocks storage</h1>
<p>Askback stores your sign-in in this browser. Allow cookies and site data for this address, then open the link again.</p></section>
<section id="failed" hidden role="alert"><h1>You are not signed in yet</h1>
<p>The gateway did not answer. Check that <code>askback serve</code> is running.</p>
<button type="button">Try again</button></section>
<section id="used" hidden role="alert">${used(prefix)}</section>
<script>${SCRIPT}</script>`,
    { prefix, attributes: ` data-id="${escapeHtml(person.id)}" data-base="${escapeHtml(prefix)}"` },
  )
  send(reply, 200, html)
}

/** Redirects to the same page under another name of this gateway. */
export function redirectLoginPage(reply: FastifyReply, url: string): void {
  void reply.headers({ ...SECURITY_HEADERS, 'cache-control': 'no-store' }).redirect(url, 307)
}

/** For a code that was used, has expired or is of another gateway. */
export function sendUsedLinkPage(reply: FastifyReply, prefix: string): void {
  send(reply, 401, page(used(prefix), { prefix }))
}

function page(main: string, { prefix, attributes = '' }: { prefix: string; attributes?: string }): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · Askback</title><link rel="icon" href="${escapeHtml(prefix)}/icon.svg" type="image/svg+xml"><style>${STYLE}</style></head>
<body${attributes}><main>${main}</main></body></html>
`
}

function send(reply: FastifyReply, status: number, html: string): void {
  void reply
    .code(status)
    .headers({
      ...SECURITY_HEADERS,
      'content-security-policy': POLICY,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    })
    .send(html)
}

function sha256(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
