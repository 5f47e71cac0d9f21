/** How a thing stands; never told by its colour alone. */
export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info';
