/** Builds a mail as plain text and as HTML from the same sentences. */
import { stripControls } from '../format/text-rules.ts'

/** The parts of a mail. Each paragraph is plain text. */
export interface Letter {
  readonly subject: string
  readonly paragraphs: readonly string[]
  /** The only link. */
  readonly link?: { readonly label: string; readonly url: string }
  /** The code of the link, for pages that cannot read it from the URL. */
  readonly code?: string
  /** Lines of a list, before the link. */
  readonly lines?: readonly string[]
  /** The advice to a reader who did not cause the mail. */
  readonly otherwise?: string
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A mail to send, without its addresses. */
export interface MailContent {
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the two forms of a letter. */
export function mailContent({ subject, paragraphs, lines, link, code, otherwise, headers = {} }: Letter): MailContent {
  const codeLabel = 'If the link does not fill in the code, copy it:'
  const text = [
    ...paragraphs,
    ...(lines ? [lines.map((line) => `* ${line}`).join('\n')] : []),
    ...(link ? [`${link.label}:\n${link.url}`] : []),
    ...(code === undefined ? [] : [`${codeLabel}\n${code}`]),
    ...(otherwise === undefined ? [] : [otherwise]),
  ]
  const html = [
    ...paragraphs.map((one) => `<p>${escapeHtml(one)}</p>`),
    ...(lines ? [`<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`] : []),
    ...(link ? [`<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p>`] : []),
    ...(code === undefined ? [] : [`<p>${codeLabel}<br><code>${escapeHtml(code)}</code></p>`]),
    ...(otherwise === undefined ? [] : [`<p>${escapeHtml(otherwise)}</p>`]),
  ]
  return { subject: stripControls(subject), text: `${text.join('\n\n')}\n`, html: htmlOf(html), headers }
}

function htmlOf(parts: readonly string[]): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body>\n${parts.join('\n')}\n</body></html>\n`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (found) => entities[found] ?? found)
}
