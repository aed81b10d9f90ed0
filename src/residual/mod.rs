//! Residuals: marginals taken apart into parts that do not overlap, and put together again (S4, Sec. 3).
//!
//! With γ a set of attributes, μ_γ its marginal and τ ⊆ γ, the residual ζ_τ = Decomp(μ_γ, γ, τ) is μ_γ summed over the axes
//! of γ∖τ and differenced along those of τ; Recon is the pseudoinverse of Decomp, and μ_γ = Σ_{τ⊆γ} Recon(ζ_τ, τ, γ).
