/** Values of a template as texts of a form, and back. */

import type { FieldKind } from '../../../pages/field-kinds.ts'

/** Returns a value as the form shows it. A value that the form cannot show is empty, and stays. */
export function templateText(kind: FieldKind | undefined, value: unknown): string {
  if (kind === undefined) return ''
  if (Array.isArray(value)) return kind.isList ? value.join('\n') : ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Reads a value. Undefined: the text is not a value of the kind. */
export function templateValue(kind: FieldKind, text: string): unknown {
  if (kind.isList) {
    const values = linesOf(text).map((line) => scalarIn(kind, line))
    return values.includes(undefined) ? undefined : values
  }
  return scalarIn(kind, kind.input === 'text' ? text : text.trim())
}

function scalarIn({ base }: FieldKind, text: string): unknown {
  if (base.type === 'boolean') return /^yes$/i.test(text) ? true : /^no$/i.test(text) ? false : undefined
  return base.type === 'string' ? text : numberIn(text)
}

/** Reads a number as JSON has it. */
export function numberIn(text: string): number | undefined {
  if (!/^-?\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** Returns the lines that have a text, without spaces around them. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
