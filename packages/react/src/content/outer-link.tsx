import type { ReactNode } from 'react'

const SCHEMES = new Set(['http:', 'https:', 'mailto:'])

/** The address if it may be opened: whole, with a scheme that only opens something. */
export function hrefOf(address: string): string | null {
  try {
    const url = new URL(address)
    return SCHEMES.has(url.protocol) ? url.href : null
  } catch {
    // Relative ones would point into the host page.
    return null
  }
}

/** A link out of the page, as an agent wrote it. One that may not be opened is shown as what it says. */
export function OuterLink({ href, children }: { href?: string | undefined; children: ReactNode }) {
  const address = href === undefined ? null : hrefOf(href)
  if (address === null) return <span className="ab-dead-link">{children}</span>
  const host = foreignHost(address)
  return (
    <>
      <a
        className="ab-link"
        href={address}
        title={address}
        target="_blank"
        rel="noopener noreferrer nofollow"
      >
        {children}
      </a>
      {/* Letters that look like others make another host: this is the one that would be opened. */}
      {host !== null && <span className="ab-hidden-character">{host}</span>}
    </>
  )
}

function foreignHost(address: string): string | null {
  const { hostname } = new URL(address)
  return hostname.split('.').some((label) => label.startsWith('xn--')) ? hostname : null
}
