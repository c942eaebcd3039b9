/** Lists, notices and secrets of settings. */

import type { ComponentChildren } from 'preact'

interface RowsProps<T> {
  readonly of: readonly T[]
  /** Shown if there are none. */
  readonly empty?: ComponentChildren
  readonly children: (one: T) => ComponentChildren
}

/** A list, with a row for each. */
export function Rows<T>({ of, empty, children }: RowsProps<T>) {
  if (of.length === 0) return typeof empty === 'string' ? <p>{empty}</p> : empty
  return (
    <ul class="rows">
      {of.map((one) => (
        <li>{children(one)}</li>
      ))}
    </ul>
  )
}

interface CollectionProps<T> extends RowsProps<T> {
  /** The number from which nothing can be added. */
  readonly most: number
  /** The heading above the form. */
  readonly title: string
  /** Adds one. */
  readonly form: ComponentChildren
}

/** A list, and the form that adds to it until it is full. */
export function Collection<T>({ most, title, form, ...rows }: CollectionProps<T>) {
  return (
    <>
      <Rows {...rows} />
      {rows.of.length < most && <Section title={title}>{form}</Section>}
    </>
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
  /** The noun on the button that copies it. */
  readonly what: 'token' | 'secret' | 'link'
  /** Default: "New" and the noun. */
  readonly label?: string
  readonly title?: string
  readonly secret: string
  /** Lines to try it. */
  readonly lines?: readonly string[]
  /** Default: that it is shown only once. */
  readonly children?: ComponentChildren
}

/** A secret that is shown once. */
export function Secret({ what, label = `New ${what}`, title, secret, lines = [], children }: SecretProps) {
  return (
    <section class="made" aria-label={label}>
      {title && <h2>{title}</h2>}
      {children ?? <p>Copy the {what} now. It is shown only once.</p>}
      <p class="copy" data-token>
        {secret}
      </p>
      <p>
        <button type="button" class="btn" data-copy="[data-token]" hidden>
          Copy {what}
        </button>
      </p>
      {lines.map((line) => (
        <p class="copy">{line}</p>
      ))}
    </section>
  )
}

interface MoreProps {
  readonly title?: ComponentChildren
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}

/** Fields that few people need, folded. */
export function More({ title = 'More options', isOpen = false, children }: MoreProps) {
  return (
    <details class="more" open={isOpen}>
      <summary>{title}</summary>
      <div class="fields">{children}</div>
    </details>
  )
}

interface SectionProps {
  /** The anchor in the page. */
  readonly id?: string
  readonly title: string
  readonly why?: ComponentChildren
  readonly children: ComponentChildren
}

export function Section({ id, title, why, children }: SectionProps) {
  return (
    <section id={id}>
      <h2>{title}</h2>
      {why && <p class="why">{why}</p>}
      {children}
    </section>
  )
}
