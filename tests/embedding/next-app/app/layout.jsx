import '@askback/react/styles.css'

export const metadata = { title: 'Askback in Next.js' }

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
