import '@askback/react/styles.css'

export const metadata = { title: 'Refunds' }

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
