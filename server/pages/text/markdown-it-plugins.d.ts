declare module 'markdown-it-footnote' {
  import type MarkdownIt from 'markdown-it'

  export default function addFootnotes(markdown: InstanceType<typeof MarkdownIt>): void
}

declare module 'markdown-it-mark' {
  import type MarkdownIt from 'markdown-it'

  export default function addMarks(markdown: InstanceType<typeof MarkdownIt>): void
}
