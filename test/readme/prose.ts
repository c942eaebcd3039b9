/** The prose of this repository, cut into sentences: documents, descriptions of the API, messages and comments. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import ts from 'typescript'
import { isScalar, LineCounter, parseDocument, visit } from 'yaml'

/** `headings` are titles of documents; `docstrings` are the comments of declarations and files. */
type Surface = 'documents' | 'headings' | 'descriptions' | 'messages' | 'comments' | 'docstrings'

export interface Sentence {
  readonly file: string
  /** The line, from 1, at which its paragraph begins. */
  readonly line: number
  readonly surface: Surface
  /** Code is written as `code`. */
  readonly text: string
  /** True for the first sentence of a docstring. */
  readonly isFirst: boolean
}

/** A paragraph, a cell of a table, an item of a list. */
interface Paragraph {
  readonly line: number
  readonly text: string
  readonly isHeading?: boolean
}

/** Of tests only what tests share is read; generated files are left out. */
const sources = /^(server|gitstore|index|test\/support|spec\/client(?!\/types\.ts$))\/.*\.(ts|tsx|js|cjs)$/
const withMessages = /^(server|gitstore)\/(?!build\/|features\/[\w-]+\/rows\/)/

/** @param paths files and folders; all without any */
export async function sentencesIn(paths: readonly string[] = []): Promise<Sentence[]> {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths])
  const files = listed
    .toString()
    .split('\0')
    .filter((file) => existsSync(file))
  const found = await Promise.all(files.map((file) => sentencesOf(file)))
  return found.flat()
}

async function sentencesOf(file: string): Promise<Sentence[]> {
  if (file === 'spec/limits.template.md') return []
  if (file.endsWith('.md') && !file.startsWith('test/upgrade/')) return ofDocument(file, await readFile(file, 'utf8'))
  if (file === 'spec/openapi.yaml') return ofSpec(file, await readFile(file, 'utf8'))
  if (sources.test(file)) return ofSource(file, await readFile(file, 'utf8'))
  return []
}

/** Front matter is data, so it counts as blank lines. */
function ofDocument(file: string, text: string): Sentence[] {
  const prose = text.replace(/^---\n[\s\S]*?\n---$/m, (head) =>
    text.startsWith(head) ? head.replace(/.+/g, '') : head,
  )
  return paragraphsOf(prose).flatMap((paragraph) =>
    split(paragraph, { file, surface: paragraph.isHeading ? 'headings' : 'documents' }),
  )
}

function ofSpec(file: string, text: string): Sentence[] {
  const lines = new LineCounter()
  const found: Sentence[] = []
  visit(parseDocument(text, { lineCounter: lines }), {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || (key.value !== 'summary' && key.value !== 'description')) return
      if (!isScalar(value) || typeof value.value !== 'string') return
      const first = lines.linePos(value.range?.[0] ?? 0).line
      for (const paragraph of paragraphsOf(value.value))
        found.push(...split({ ...paragraph, line: first + paragraph.line - 1 }, { file, surface: 'descriptions' }))
    },
  })
  return found
}

function ofSource(file: string, text: string): Sentence[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const lineAt = (at: number) => source.getLineAndCharacterOfPosition(at).line + 1
  const found: Sentence[] = []
  for (const { at, text: comment, isDocstring } of commentsOf(source))
    for (const [index, paragraph] of paragraphsOf(comment).entries()) {
      const surface = isDocstring ? 'docstrings' : 'comments'
      const line = lineAt(at) + paragraph.line - 1
      found.push(...split({ ...paragraph, line }, { file, surface, isFirst: isDocstring && index === 0 }))
    }
  if (withMessages.test(file))
    for (const { at, text: message } of messagesOf(source))
      for (const paragraph of paragraphsOf(message))
        found.push(...split({ ...paragraph, line: lineAt(at) }, { file, surface: 'messages' }))
  return found
}

interface Comment {
  readonly at: number
  readonly text: string
  readonly isDocstring: boolean
}

function commentsOf(source: ts.SourceFile): Comment[] {
  const { text } = source
  const ranges = new Map<number, ts.CommentRange>()
  const walk = (node: ts.Node): void => {
    if (ts.isJsxText(node)) return
    for (const range of ts.getLeadingCommentRanges(text, node.pos) ?? []) ranges.set(range.pos, range)
    for (const range of ts.getTrailingCommentRanges(text, node.end) ?? []) ranges.set(range.pos, range)
    for (const child of node.getChildren(source)) if (!ts.isJSDoc(child)) walk(child)
  }
  walk(source)
  const comments: Comment[] = []
  let end = -1
  for (const range of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const raw = text.slice(range.pos, range.end)
    const isLine = range.kind === ts.SyntaxKind.SingleLineCommentTrivia
    const last = comments.at(-1)
    // Lines of // that follow each other are one comment.
    if (isLine && last !== undefined && end >= 0 && /^\s*$/.test(text.slice(end, range.pos)))
      comments[comments.length - 1] = { ...last, text: `${last.text}\n${raw.slice(2)}` }
    else comments.push({ at: range.pos, text: isLine ? raw.slice(2) : plain(raw), isDocstring: raw.startsWith('/**') })
    end = isLine ? range.end : -1
  }
  return comments.filter((comment) => !/^\s*(biome-ignore|@ts-|eslint|#)/.test(comment.text))
}

/** A block comment without its marks. */
function plain(comment: string): string {
  return comment
    .replace(/^\/\*\*?/, '')
    .replace(/\*\/$/, '')
    .replaceAll(/^\s*\* ?/gm, '')
}

/** Literals of at least two words that are no SQL, and the text of JSX. Values in a template are written as code. */
function messagesOf(source: ts.SourceFile): { readonly at: number; readonly text: string }[] {
  const found: { at: number; text: string }[] = []
  const walk = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return
    if (ts.isJsxAttribute(node) && node.name.getText(source) === 'class') return
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isJsxText(node))
      found.push({ at: node.getStart(source), text: node.text })
    else if (ts.isTemplateExpression(node)) {
      const text = node.head.text + node.templateSpans.map(({ literal }) => `\`x\`${literal.text}`).join('')
      found.push({ at: node.getStart(source), text })
    }
    ts.forEachChild(node, walk)
  }
  walk(source)
  return found
    .map(({ at, text }) => ({ at, text: withoutTags(text) }))
    .filter(
      ({ text }) =>
        /[A-Za-z]{2,},? [a-z`]/.test(text) &&
        !/^\s*(select|insert|update|delete|create|alter|drop|with|pragma|begin|and|or|where)\b[^.]*[=(*]/i.test(text),
    )
}

/** HTML as paragraphs: each tag ends one. Style sheets are left out. */
function withoutTags(text: string): string {
  return text.replaceAll(/<style>[\s\S]*?<\/style>/g, '').replaceAll(/<\/?[a-z!][^<>]*>/g, '\n\n')
}

/** The paragraphs of Markdown: code, front matter and HTML comments left out. */
function paragraphsOf(markdown: string): Paragraph[] {
  const blank = (block: string) => block.replaceAll(/[^\n]/g, '')
  const lines = markdown
    .replaceAll(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2 *$/gm, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank)
    .split('\n')
  const found: Paragraph[] = []
  let open: { line: number; text: string } | undefined
  const end = () => {
    if (open) found.push(open)
    open = undefined
  }
  const parts = lines.flatMap((raw, index) =>
    raw.split(/(?<=\S) (?=@(?:throws|param|returns)\b)/).map((part) => ({ line: index + 1, text: part.trim() })),
  )
  for (const { line, text } of parts) {
    if (text === '') end()
    else if (/^#+ /.test(text)) {
      end()
      found.push({ line, text: text.replace(/^#+ /, ''), isHeading: true })
    } else if (text.startsWith('|')) {
      end()
      for (const cell of text.split(/(?<!\\)\|/)) if (/[A-Za-z]/.test(cell)) found.push({ line, text: cell.trim() })
    } else {
      const item = /^(?:[-*+]|\d+\.|@\w+|>) ?(.*)$/.exec(text)
      if (item) end()
      const content = item?.[1] ?? text
      if (open) open.text += ` ${content}`
      else open = { line, text: content }
    }
  }
  end()
  return found
}

function split(
  { line, text }: Paragraph,
  { file, surface, isFirst = false }: { file: string; surface: Surface; isFirst?: boolean },
): Sentence[] {
  const shown = text
    .replaceAll(/`[^`]*`/g, '`code`')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/https?:\/\/\S+/g, '`code`')
    .replaceAll(/\*\*|__/g, '')
    .replaceAll(/\b(e\.g|i\.e|etc|vs|cf)\./g, '$1')
  return shown
    .split(/(?<=[.!?]["')]?) +(?=["'(`*]*[\p{Lu}`\d])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[A-Za-z]/.test(sentence))
    .map((sentence, index) => ({ file, line, surface, text: sentence, isFirst: isFirst && index === 0 }))
}

/** How many words a sentence has; a piece of code is one. */
export function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
