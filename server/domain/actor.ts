/** The caller of a use case. */

export interface Person {
  readonly kind: 'person'
  readonly id: string
  readonly email: string
  readonly name: string
}

export interface Anonymous {
  readonly kind: 'anonymous'
}

export type Actor = Person | Anonymous

export const anonymous: Anonymous = { kind: 'anonymous' }
