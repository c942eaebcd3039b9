/** Lists, notices and secrets of settings. */

import type { ComponentChildren } from 'preact'

interface RowsProps<T> {
  readonly of: readonly T[]
  /** Said if there are none. */
  readonly empty?: string
  readonly children: (one: T) => ComponentChildren
}

/** A list, with a row for each. */
export function Rows<T>({ of, empty, children }: RowsProps<T>) {
  if (of.length === 0) return empty ? <p>{empty}</p> : null
  return (
    <ul class="rows">
      {of.map((one) => (
        <li>{children(one)}</li>
      ))}
    </ul>
  )
}

interface RowProps {
  readonly title: ComponentChildren
  readonly facts: ComponentChildren
  /** The acts. */
  readonly children?: ComponentChildren
}

/** A row: a title with facts below it, and acts. */
export function Row({ title, facts, children }: RowProps) {
  return (
    <>
      <div>
        {title} <small>{facts}</small>
      </div>
      {children}
    </>
  )
}

/** The outcome of an act. */
export function Notice({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="notice" role="status">
      {children}
    </p>
  )
}

interface SecretProps {
  /** The noun for it. */
  readonly of: 'token' | 'secret'
  readonly title: string
  /** What it is for. */
  readonly why?: string
  readonly secret: string
  /** Lines to try it. */
  readonly lines?: readonly string[]
}

/** A secret that is shown once. */
export function Secret({ of, title, why, secret, lines = [] }: SecretProps) {
  return (
    <section class="made" aria-label={`New ${of}`}>
      <h2>{title}</h2>
      <p>
        Copy the {of} now. It is shown only once. {why}
      </p>
      <p class="copy" data-token>
        {secret}
      </p>
      {lines.map((line) => (
        <p class="copy">{line}</p>
      ))}
    </section>
  )
}
