import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

interface Extensions {
  micromarkExtensions?: unknown[]
  fromMarkdownExtensions?: unknown[]
}

/**
 * Tables, task lists, strikethrough and bare links, as `remark-gfm` reads them. That also brings what writes Markdown, 15 kB
 * of the first load that nothing here needs.
 */
export function readGfm(this: { data: () => object }): void {
  // oxlint-disable-next-line oxc/no-this-in-exported-function -- a plugin of unified gets its processor as `this`
  const data: Extensions = this.data()
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), gfm()]
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), gfmFromMarkdown()]
}
