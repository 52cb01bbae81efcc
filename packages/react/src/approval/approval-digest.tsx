const SHORT = 12

/** Of the tool and its input: the answer is bound to it, and it stands in the log. */
export function ApprovalDigest({ digest }: { digest: string }) {
  return (
    <details className="ab-details ab-digest">
      <summary>SHA-256 {digest.slice(0, SHORT)}</summary>
      <code>{digest}</code>
      <p className="ab-hint">
        Fingerprint of this tool and input. Askback checks it when your answer arrives and again before the
        call runs.
      </p>
    </details>
  )
}
