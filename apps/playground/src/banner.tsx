export function Banner() {
  return (
    <p className="border-b border-line bg-side px-4 py-1.5 text-center text-xs text-soft">
      Playground: the agent, its log and this page all run in your browser. A reload starts over.
    </p>
  )
}
